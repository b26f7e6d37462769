"""What methods of several papers share: base class, test stage, averaging, learning rates."""
