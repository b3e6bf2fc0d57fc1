"""Members of JSON objects against the manual: schema.py PAGE KIND FILE... fails unless each member of the objects in the files,
one a line, is in the manual's list of that kind (report, plan, list) with such a type, and each listed one, but those of a
GPU, is in some object."""
import json
import sys

TYPES = {'string': str, 'integer': int, 'number': (int, float), 'boolean': bool, 'null': type(None)}


def listed(page, kind):
    members, inside = {}, False
    for line in open(page):
        if line.startswith('.SH '):
            inside = line.strip() == '.SH JSON'
        words = line.split()
        if inside and words and words[0].startswith(kind + '.'):
            types = [words[1]] + (words[3:4] if words[2:3] == ['or'] else [])
            assert words[0] not in members and all(name in TYPES for name in types), line
            members[words[0]] = types, 'GPU' in words
    assert members, 'the manual has no list of ' + kind
    return members


def flatten(path, value, found):
    if isinstance(value, dict):
        for name, member in value.items():
            flatten(path + '.' + name, member, found)
    elif isinstance(value, list):
        for member in value:
            flatten(path + '[]', member, found)
    else:
        found.append((path, value))


def is_of(value, name):
    return isinstance(value, TYPES[name]) and (isinstance(value, bool) == (name == 'boolean'))


def main():
    members, failed = listed(sys.argv[1], sys.argv[2]), False
    found, seen = [], set()
    for name in sys.argv[3:]:
        for line in open(name):
            flatten(sys.argv[2], json.loads(line), found)
    for path, value in found:
        seen.add(path)
        if path in members and any(is_of(value, name) for name in members[path][0]):
            continue
        # An object that is not there.
        if value is None and any(known.startswith(path + '.') for known in members):
            continue
        print('%s: %r is not %s' % (path, value, ' or '.join(members[path][0]) if path in members else 'in the manual'))
        failed = True
    for path, (types, gpu) in members.items():
        if path not in seen and not gpu:
            print(path + ': in the manual alone')
            failed = True
    sys.exit(failed or not found)


main()
