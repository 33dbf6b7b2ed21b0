"""Operations that the layers use: recursions, fused steps, multiplications, masks and sampling."""
