"""The interior point method: cold starts, and huge boxes.

attempts          in which order it is tried: in smaller boxes, then its own
interior_point    the method
crossover         from an interior point in a huge box to the vertex next to it
"""
