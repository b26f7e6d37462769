"""What each command of ``jumpbench`` does."""
