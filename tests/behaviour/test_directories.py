"""Redirects to the slash, and where they may lead (RFC 9110 15.4.2 and 10.2.2)."""
from urllib.parse import quote, unquote_to_bytes

import pytest

from client import ask_once, get, request
from docroot import AWKWARD_FOLDERS, INDEX
from exchanges import case, each_case, lettered, run_case


def redirect(id, target, location, **more):
    return case(id, get(target, **more), 301, fields={'Location': location})


CASES = [
    redirect('D5', '/dir?x=1', '/dir/?x=1'),
    redirect('D5.plain', '/dir', '/dir/'),
    redirect('D5.empty-query', '/dir?', '/dir/?'),
    redirect('D5.query', '/dir?a=/b&c=%0d%0aX:y&%zz', '/dir/?a=/b&c=%0d%0aX:y&%zz'),
    redirect('D5.second-mark', '/dir?a?b', '/dir/?a?b'),
    redirect('D5.bare', '/bare', '/bare/'),
    redirect('D5.link', '/link-dir', '/link-dir/'),
    redirect('D5.escaped', '/%64ir', '/dir/'),
    redirect('D5.dots', '/bare/../dir', '/dir/'),
    redirect('D5.empty-segments', '//dir', '/dir/'),
    redirect('D5.many-empty', '////dir', '/dir/'),
    redirect('D5.absolute', 'http://evil.test/dir', '/dir/'),
    redirect('D6.port', '/dir', '/dir/', host='t.test:81'),
    redirect('D6.other', '/dir', '/dir/', host='evil.test'),
    case('D6.old', get('/dir', host=None, version='HTTP/1.0'), 301, end='closed',
         fields={'Location': '/dir/'}),
    case('D5.kept', [get('/dir'), get('/dir/')], [301, 200]),
    *lettered('D1', case, [get('//evil.test/%2e%2e'), get('//evil.test//..'),
                           get('//evil.test/..')], 200, body=INDEX),
    case('D2', get('//evil.test/..%2f..%2f../dir'), 404),
    case('D3', get('/x/..%2F%5cevil.test%2F%3f%2F..%2F..'), 404),
    case('D5.post', request('/dir', 'Content-Length: 0', method='POST'), 405),
    case('D5.conditional', get('/dir', 'If-None-Match: *', 'Range: bytes=0-1'), 301,
         fields={'Location': '/dir/'}),
]


@each_case(CASES)
def test_directories(case, server):
    run_case(case, server)


@pytest.mark.parametrize('name', AWKWARD_FOLDERS, ids=quote)
def test_D4_location_is_encoded_again(server, name):
    target = '/' + ''.join(f'%{byte:02x}' for byte in name.encode())
    answer = ask_once(server.address, get(target))
    assert answer.status == 301
    location = answer.get('Location')
    assert unquote_to_bytes(location) == b'/' + name.encode() + b'/'
    assert not set('?#"<>\\^`{|} \r\n') & set(location)
    follow = ask_once(server.address, get(location))
    assert (follow.status, follow.body) == (200, b'folder ' + name.encode() + b'\n')


def test_D5_redirect_in_a_scratch_folder_of_long_names(server, docroot, scratch):
    name = scratch + 'n' * 255
    docroot.write(name + '/index.html', b'deep\n')
    answer = ask_once(server.address, get('/' + name))
    assert (answer.status, answer.get('Location')) == (301, '/' + name + '/')
    assert ask_once(server.address, get('/' + name + '/')).body == b'deep\n'
