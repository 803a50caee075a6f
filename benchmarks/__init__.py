"""Measurements that print tables and JSON: `python3 build.py bench NAME`."""
