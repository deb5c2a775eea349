"""The document root that the tests serve, and what lies around it and must stay unseen.

BASE/root/www is served; every file beside and above it holds the secret. Tests that change
files do so in a folder of their own (scratch), since all others share this tree.
"""
import contextlib
import os
import shutil
import socket
import stat
import tempfile
import time

from client import SECRET

STAMP = 1714979289                   # 2024-05-06 07:08:09 UTC, of every ordinary file
STAMP_NS = STAMP * 10**9
A_TXT = b'0123456789'
SIX = bytes(i % 253 for i in range(6144))
ONE = bytes(i % 251 for i in range(1024))
BIG_SIZE = 8 << 20
HUGE_SIZE = 5 << 30
INDEX = b'<!doctype html><title>root</title>\n'
DIR_INDEX = b'<!doctype html><title>dir</title>\n'

# Siblings need not be what their coding says: nobody unpacks them here.
PAGE_JS = b'the script as it is, of 41 bytes in all.\n'
PAGE_ZST, PAGE_BR, PAGE_GZ = b'zstd, 14 bytes', b'br: 12 bytes', b'gzip: 0123456789abcdef'
LARGE_GZ = bytes(i % 249 for i in range(300000))
PLAIN_TXT = b'plain\n'
CODED = {
    'page.js': PAGE_JS, 'page.js.zst': PAGE_ZST, 'page.js.br': PAGE_BR, 'page.js.gz': PAGE_GZ,
    'index.html': b'<p>coded\n', 'index.html.gz': b'packed index',
    'large.css': LARGE_GZ * 2, 'large.css.gz': LARGE_GZ, 'empty.txt': b'', 'empty.txt.gz': b'',
    'locked.txt.gz': b'not locked',
    **{f'{name}.txt': PLAIN_TXT for name in ('old', 'locked', 'folder', 'fifo', 'out', 'in',
                                             'loop', 'gone', 'none')},
}

AWKWARD = ['with space.txt', 'caf\u00e9.txt', 'a+b.txt', '+x+.css', 'foo%25bar.txt',
           'foo%bar.txt', 'semi;colon.txt', 'back\\slash.txt', 'star*.txt', "quote'.txt",
           'a&b=c.txt', '~tilde', '%41']

AWKWARD_FOLDERS = ['d\r\nX: y', 'with space', 'q?d', 'hash#d', '\\evil.test', 'caf\u00e9',
                   'per%cent']


def tag(size, mtime_ns=STAMP_NS):
    """The entity tag of a file's identity form."""
    return f'"{mtime_ns:x}-{size:x}"'


def numbered(size):
    """Bytes of which every 8 tell their own place."""
    return b''.join(b'%07x\n' % i for i in range(size // 8))


class DocumentRoot:
    def __init__(self):
        self.base = os.path.realpath(tempfile.mkdtemp(prefix='tetrad-behaviour-'))
        os.chmod(self.base, 0o755)
        self.path = os.path.join(self.base, 'root', 'www')
        self.big = numbered(BIG_SIZE)
        self._scratches = 0
        os.makedirs(self.path)
        self._build()

    def remove(self):
        for folder in ('lockdir', 'closed'):
            with contextlib.suppress(FileNotFoundError):
                os.chmod(self.at(folder), 0o755)
        shutil.rmtree(self.base)

    def at(self, name):
        return os.path.join(self.path, name)

    def outside(self, name):
        return os.path.join(self.base, name)

    def write(self, name, data, mtime_ns=STAMP_NS, mode=0o644):
        """A new or overwritten file; returns its path."""
        path = self.at(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'wb') as file:
            file.write(data)
        os.chmod(path, mode)
        os.utime(path, ns=(mtime_ns, mtime_ns))
        return path

    def replace(self, name, data, mtime_ns=STAMP_NS):
        """A new file under an old name, in one step."""
        self.write(name + '.next', data, mtime_ns)
        os.rename(self.at(name + '.next'), self.at(name))

    def scratch(self):
        """A fresh folder, as a prefix for names: "scratch-1/"."""
        self._scratches += 1
        name = f'scratch-{self._scratches}/'
        os.mkdir(self.at(name))
        return name

    def _build(self):
        self._build_files()
        self._build_times()
        self._build_links()
        self._build_outside()
        self._build_special()
        self._build_closed()
        self._build_coded()

    def _build_files(self):
        files = {
            'index.html': INDEX, 'a.txt': A_TXT, 'empty': b'', '1k': ONE, '6k': SIX,
            'big.bin': self.big, 'dir/index.html': DIR_INDEX, 'dir/inner.txt': b'inner\n',
            'dir/.hidden': b'dotfile\n', 'bare/one.txt': b'one\n', '.hidden': b'dotfile\n',
            '.git/config': b'dotfile\n', '.well-known/security.txt': b'known\n',
            'other/start.htm': b'another index\n',
        }
        for name, data in files.items():
            self.write(name, data)
        for name in AWKWARD:
            self.write(name, b'file ' + name.encode() + b'\n')
        for name in AWKWARD_FOLDERS:
            self.write(name + '/index.html', b'folder ' + name.encode() + b'\n')
        with open(self.write('huge.bin', b''), 'r+b') as file:
            file.truncate(HUGE_SIZE)
            for place, data in ((0, b'head'), ((1 << 32) - 2, b'ABCDEFGH'),
                                (HUGE_SIZE - 4, b'tail')):
                file.seek(place)
                file.write(data)
        os.utime(self.at('huge.bin'), (STAMP, STAMP))

    def _build_times(self):
        second = 10**9
        self.write('times/zero.txt', b'zero\n', 0)
        self.write('times/one.txt', b'one\n', second)
        self.write('times/two.txt', b'two\n', 2 * second)
        self.write('times/negative.txt', b'negative\n', -86400 * second)
        self.write('times/fraction.txt', b'fraction\n', STAMP_NS + 123456789)
        self.write('times/future.txt', b'future\n', (int(time.time()) + 10**7) * second)
        self.write('times/far.txt', b'far\n')
        # Beyond what four digits of a year can say, where the file system keeps it.
        with contextlib.suppress(OSError, OverflowError):
            os.utime(self.at('times/far.txt'), (2**40, 2**40))

    def _build_links(self):
        links = {
            'link-in.txt': 'a.txt', 'link-chain.txt': 'link-in.txt', 'link-dir': 'dir',
            'dir/link-up.txt': '../a.txt', 'loop': 'loop', 'dangling': 'no-such-file',
            'link-out.txt': self.outside('secret'), 'link-out-relative.txt': '../secret',
            'link-out-dir': '..', 'outside-index/index.html': self.outside('secret'),
            'null': '/dev/null',
        }
        for name, to in links.items():
            os.makedirs(os.path.dirname(self.at(name)), exist_ok=True)
            os.symlink(to, self.at(name))

    def _build_outside(self):
        for name in ('secret', 'etc/passwd', 'root/secret', 'root/etc/passwd',
                     'root/www-private/x', 'root/www2/x'):
            path = self.outside(name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, 'wb') as file:
                file.write(SECRET + b'\n')

    def _build_special(self):
        os.mkfifo(self.at('fifo'), 0o644)
        os.chmod(self.at('fifo'), 0o644)
        with contextlib.suppress(PermissionError):
            os.mknod(self.at('device'), 0o666 | stat.S_IFCHR, os.makedev(1, 5))
        folder = os.open(self.path, os.O_RDONLY)
        with socket.socket(socket.AF_UNIX) as listener:
            # A short name whatever the length of the path: socket addresses are short.
            listener.bind(f'/proc/self/fd/{folder}/socket')
        os.close(folder)
        os.chmod(self.at('socket'), 0o666)

    def _build_coded(self):
        """Files with precompressed siblings, good ones and such as must not be used."""
        for name in CODED:
            self.write(f'coded/{name}', CODED[name])
        self.write('coded/old.txt.gz', b'too old', STAMP_NS - 1)
        self.write('coded/locked.txt.br', b'locked', mode=0)
        os.makedirs(self.at('coded/folder.txt.gz'))
        os.mkfifo(self.at('coded/fifo.txt.gz'))
        for name, to in (('out.txt.gz', self.outside('secret')), ('out.txt.br', '../../secret'),
                         ('out.txt.zst', '../link-out.txt'), ('in.txt.gz', 'page.js.gz'),
                         ('loop.txt.gz', 'loop.txt.gz'), ('gone.txt.gz', 'no-such-file')):
            os.symlink(to, self.at('coded/' + name))

    def _build_closed(self):
        """Not to be read by the server, which never runs as root here."""
        self.write('locked.txt', b'locked\n', mode=0)
        self.write('locked-index/index.html', b'locked\n', mode=0)
        self.write('locked-index/name-to-hide.txt', b'x\n')
        self.write('lockdir/in.txt', b'in\n')
        self.write('lockdir/index.html', b'in\n')
        os.chmod(self.at('lockdir'), 0)
        os.makedirs(self.at('closed'))
        os.chmod(self.at('closed'), 0)
