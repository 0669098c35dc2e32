# The pictures in a folder: peers.py FOLDER [RECORDED]. Each is XML whose numbers are numbers and whose shapes are inside of it; texts too,
# as wide as they may be. With RECORDED, each system that was measured is named in each picture that can have it.
import glob, json, re, sys
import xml.etree.ElementTree as xml

pictures = sorted(glob.glob(sys.argv[1] + "/*.svg"))
assert pictures
for path in pictures:
    root = xml.parse(path).getroot()
    _, _, width, height = map(float, root.get("viewBox").split())
    texts = []
    for node in root.iter():
        kind = node.tag.split("}")[1]
        if kind == "path":
            spots = [tuple(map(float, spot.split())) for spot in re.split("[ML]", node.get("d")) if spot]
        elif kind == "rect":
            x, y = float(node.get("x", 0)), float(node.get("y", 0))
            spots = [(x, y), (x + float(node.get("width")), y + float(node.get("height")))]
        elif kind == "circle":
            spots = [(float(node.get("cx")), float(node.get("cy")))]
        elif kind == "text":
            texts.append(node.text)
            style = node.get("class") or ""
            bold = "name" in style or "bold" in (node.get("style") or "")
            x, y, long = float(node.get("x")), float(node.get("y")), (8 if bold else 7.2) * len(node.text)
            left = x - long if "end" in style else x - long / 2 if "mid" in style else x
            spots = [(left, y - 10), (left + long, y)]
        else:
            continue
        for x, y in spots:
            assert -0.5 <= x <= width + 0.5 and -0.5 <= y <= height + 0.5, (path, kind, x, y, node.text)
    assert root.find("{*}title").text and root.find("{*}desc").text
    if len(sys.argv) > 2 and "kill" not in path:
        rows = json.load(open(sys.argv[2]))["rows"]
        row = rows["cycle1" if "cycles" in path else "greedy2"]
        names = {"ours": "libredlock", "zookeeper": "ZooKeeper", "postgres": "PostgreSQL", "node-redlock": "node-redlock 4",
                 "node-redlock-5": "node-redlock 5"}
        for system, got in row.items():
            assert isinstance(got, str) or names.get(system, system) in texts, (path, system, texts)
