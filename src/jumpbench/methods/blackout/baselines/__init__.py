"""What Blackout's samples are compared with: real images, and pixels that know of no other."""
