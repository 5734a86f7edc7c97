"""The entries of the operator table: function, type rule, batched form, gradient, traits, cost class."""
