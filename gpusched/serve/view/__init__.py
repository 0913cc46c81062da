"""The page's side of a process: who may read, and what is answered to the page, `gpusched top` and scripts."""
