"""Language models, from counting to backprop: the package that you fill in."""
