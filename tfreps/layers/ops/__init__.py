"""Operations behind the layers: recursions, fused steps, products, masks, draws."""

__all__: list[str] = []  # internal: not part of the public API
