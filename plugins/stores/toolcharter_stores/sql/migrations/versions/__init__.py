"""The migrations, in order; each is never changed again once it is released."""
