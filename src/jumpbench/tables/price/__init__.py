"""What runs cost before they are made: operations counted on fake tensors, seconds, memory."""
