"""The interior point method, for cold starts and huge boxes.

attempts          the order of attempts: in a smaller box, then in the problem's box
interior_point    the method
crossover         from an interior point in a huge box to the vertex next to it
"""
