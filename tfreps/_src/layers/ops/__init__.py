"""Operations that the layers use: recursions, fused steps, multiplications, masks and sampling."""

__all__: list[str] = []  # internal: not part of the public API
