"""Machine programs and the bytes they become: assembling to code objects, and reading code objects back."""
