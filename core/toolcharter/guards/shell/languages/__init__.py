"""Little languages that programs take as arguments: one module each, with `objection(text) -> str | None`.

None means that the text is proven to do no more than read its input and print; anything else says why it needs naming.
What a module cannot read, it objects to.
"""
