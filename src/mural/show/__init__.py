"""What people see of a run: display, pictures, films."""
