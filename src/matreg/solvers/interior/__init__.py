"""The interior point method: cold starts, and huge boxes.

attempts          in which order it is tried: in smaller boxes, then its own
interior_point    the method
huge_boxes        smaller boxes first, and from an interior point to the vertex next to it
"""
