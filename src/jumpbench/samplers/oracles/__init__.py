"""What a sampler must do, checked on laws that are enumerated: ``jumpbench check``."""
