"""Other servers of the machine, each with a configuration of its own in a temporary folder:
loopback, the same document root, foreground, ended by process id whatever happens.

They are configured as a distribution does for plain files; what they differ in is theirs.
"""
import contextlib
import os
import re
import shutil
import socket
import subprocess
import tempfile

from kernel import processes
from waiting import patient, wait_until

MODULES = '/usr/lib/apache2/modules'
START_TRIES = 3

NGINX = '''
daemon off;
worker_processes 1;
pid {place}/pid;
error_log {place}/error.log;
events {{ worker_connections 512; }}
http {{
    include /etc/nginx/mime.types;
    default_type application/octet-stream;
    access_log off;
    gzip_static on;
    client_body_temp_path {place}/body;
    proxy_temp_path {place}/proxy;
    fastcgi_temp_path {place}/fastcgi;
    uwsgi_temp_path {place}/uwsgi;
    scgi_temp_path {place}/scgi;
    server {{
        listen 127.0.0.1:{port};
        root {root};
        index index.html;
    }}
}}
'''

APACHE = '''
ServerRoot {place}
ServerName t.test
Listen 127.0.0.1:{port}
PidFile {place}/pid
DefaultRuntimeDir {place}
ErrorLog {place}/error.log
LoadModule mpm_event_module {modules}/mod_mpm_event.so
LoadModule authz_core_module {modules}/mod_authz_core.so
LoadModule mime_module {modules}/mod_mime.so
LoadModule dir_module {modules}/mod_dir.so
TypesConfig /etc/mime.types
StartServers 1
ThreadsPerChild 25
MaxRequestWorkers 50
KeepAliveTimeout 15
TraceEnable Off
FileETag MTime Size
DocumentRoot {root}
DirectoryIndex index.html
<Directory />
    Options FollowSymLinks
    AllowOverride None
    Require all granted
</Directory>
'''

LIGHTTPD = '''
server.document-root = "{root}"
server.bind = "127.0.0.1"
server.port = {port}
server.errorlog = "{place}/error.log"
server.upload-dirs = ( "{place}" )
server.max-keep-alive-requests = 1000
index-file.names = ( "index.html" )
mimetype.assign = ( ".html" => "text/html", ".txt" => "text/plain",
                    "" => "application/octet-stream" )
'''

H2O = '''
listen:
  host: 127.0.0.1
  port: {port}
num-threads: 1
pid-file: {place}/pid
error-log: {place}/error.log
hosts:
  default:
    paths:
      /:
        file.dir: {root}
        file.index: [ index.html ]
'''

PEERS = {
    'nginx': ('nginx', NGINX, ['-e', '{place}/error.log', '-p', '{place}', '-c', '{file}']),
    'apache': ('apache2', APACHE, ['-d', '{place}', '-f', '{file}', '-DFOREGROUND']),
    'lighttpd': ('lighttpd', LIGHTTPD, ['-D', '-f', '{file}']),
    'h2o': ('h2o', H2O, ['-m', 'worker', '-c', '{file}']),
}


def find_program(name):
    """Its path, or None; system programs are not on every PATH."""
    return shutil.which(name, path=os.environ.get('PATH', '') + ':/usr/local/sbin:/usr/sbin:/sbin')


def version_of(name):
    program = find_program(PEERS[name][0])
    said = subprocess.run([program, '--version' if name == 'h2o' else '-v'], text=True,
                          check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return re.search(r'\d+\.\d+\.\d+', said.stdout)[0]


def free_port():
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


def accepts(port):
    with socket.socket() as probe:
        return probe.connect_ex(('127.0.0.1', port)) == 0


class Peer:
    """One running server."""

    def __init__(self, name, root, user):
        """user: whom to run as where the caller is root, as pwd says it, or None."""
        self.name, self._root, self._user = name, root, user
        self._place = tempfile.mkdtemp(prefix=f'tetrad-garden-{name}-')
        self.process = None
        try:
            if user:
                os.chown(self._place, user.pw_uid, user.pw_gid)
            self.address = self._start_somewhere()
        except BaseException:
            self.stop()
            raise

    def _start_somewhere(self):
        """Most of them cannot say which port they got, so that another may be faster."""
        for attempt in range(START_TRIES):
            port = free_port()
            self._start(port)
            try:
                wait_until(lambda: self.process.poll() is not None or accepts(port), 10,
                           f'{self.name} starts')
            except AssertionError:
                if attempt + 1 == START_TRIES:
                    raise
            if self.process.poll() is None:
                return '127.0.0.1', port
            self._end()
        raise SystemExit(f'{self.name} does not start: {self._said()}')

    def _start(self, port):
        program, text, options = PEERS[self.name]
        values = {'place': self._place, 'root': self._root, 'port': port, 'modules': MODULES,
                  'file': os.path.join(self._place, 'conf')}
        with open(values['file'], 'w', encoding='ascii') as file:
            file.write(text.format(**values))
        command = ['setpriv', '--pdeathsig', 'TERM']
        if self._user:
            command += [f'--reuid={self._user.pw_uid}', f'--regid={self._user.pw_gid}',
                        '--clear-groups']
        command += [find_program(program), *(option.format(**values) for option in options)]
        with open(os.path.join(self._place, 'output'), 'wb') as output:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output,
                                            stderr=output, cwd=self._place)

    def _said(self):
        with open(os.path.join(self._place, 'output'), encoding='utf-8') as file:
            return file.read()

    def _end(self):
        """In good order if it will, and in any case: the whole family by process id."""
        if self.process is None:
            return
        family = processes(self.process.pid) if self.process.poll() is None else {}
        self.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(patient(3))
        for pid in family:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, 9)
        self.process.wait()

    def stop(self):
        self._end()
        shutil.rmtree(self._place, ignore_errors=True)
