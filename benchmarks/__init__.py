"""Side-by-side measurements, as ratios within one run; not collected by pytest."""
