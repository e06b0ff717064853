"""`primal bench`: our layer beside other implementations and other attentions, everything measured in one run."""
