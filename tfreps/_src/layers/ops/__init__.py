"""Operations that the layers use: recursions, fused steps, products, masks and sampling."""

__all__: list[str] = []  # internal: not part of the public API
