"""Operations behind the layers: recursions, fused steps, products, masks, draws."""
