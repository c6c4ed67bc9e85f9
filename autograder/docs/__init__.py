"""The writeup as web pages and as PDF: the room of ``autograder docs``.

``reading`` finds the pages and turns them into pandoc's trees, ``links`` knows where they lead, ``html`` and ``pdf``
write them. Trusted side; needs the tier ``docs`` (pandoc and typst, both from wheels), and no network. Nothing that
grades imports it.
"""
