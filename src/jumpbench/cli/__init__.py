"""The command line: words, commands, completion."""
