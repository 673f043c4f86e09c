"""``python -m tvm.driver.tvmc``."""

from .main import main

if __name__ == "__main__":
    main()
