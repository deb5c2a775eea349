"""The parts of the load test; run.py puts them in order."""
