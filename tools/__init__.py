"""What build.py is made of: environment, wheels, the static site, the server, jobs and checks."""
