"""Making HTML: elements whose texts and attributes are escaped as they are written."""

from xml.etree.ElementTree import Element, tostring


def element(tag: str, *children: Element | str, **attributes: str) -> Element:
    """Return an element. Of an attribute's name a last `_` is dropped, and any other is a `-`."""
    made = Element(tag, {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items()})
    for child in children:
        if not isinstance(child, str):
            made.append(child)
        elif len(made):
            made[-1].tail = (made[-1].tail or "") + child
        else:
            made.text = (made.text or "") + child
    return made


def written(root: Element) -> str:
    """Return a page's HTML."""
    return "<!doctype html>\n" + tostring(root, encoding="unicode", method="html") + "\n"
