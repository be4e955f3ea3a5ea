"""The interior point method: cold starts, and huge boxes.

attempts          in which order it is tried: in smaller boxes, then its own
interior_point    the method
dual_ray          the start, and the best multiple of a dual point
crossover         from an interior point to the vertex next to it
"""
