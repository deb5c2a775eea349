"""A video in a browser: seeking in it is a request for a range, and shows the picture of that
time. It is made here, of pictures that the browser itself encodes."""
import base64
import json
import os
import re

import pytest

import webm
from waiting import wait_until

WIDTH, HEIGHT, COUNT, INTERVAL_MS = 64, 48, 24, 1000
PADDING = 4 << 20                    # between two pictures: a hole in the file
NEAR = 24                            # of 255: what coding may do to a colour

PAGE = '<!doctype html><title>t</title><video src=video.webm preload=metadata muted></video>'
# Follows which picture is painted: only a new one is announced, and that may be before
# "seeked" or after it. Chromium has announced them since its version 83.
FOLLOW = '''{ const video = document.querySelector("video");
    const painted = (now, frame) => { video.painted = frame.mediaTime;
        video.requestVideoFrameCallback(painted); video.look?.(); };
    video.requestVideoFrameCallback(painted); }'''
PICTURE = '''{ const canvas = document.createElement("canvas");
    canvas.width = %d; canvas.height = %d;
    const at = canvas.getContext("2d", {alpha: false});
    at.fillStyle = "rgb(%d, %d, %d)"; at.fillRect(0, 0, canvas.width, canvas.height);
    canvas.toDataURL("image/webp", 0.9); }'''
METADATA = '''new Promise((go, stop) => { const video = document.querySelector("video");
    video.onerror = () => stop(video.error.message);
    if (video.readyState >= 1) go(video.duration);
    video.onloadedmetadata = () => go(video.duration); })'''
# The colour in the middle, once the picture of that time is painted; it may be already.
SEEK = '''new Promise((go, stop) => { const video = document.querySelector("video"), to = %f;
    video.onerror = () => stop(video.error.message);
    video.onseeked = video.look = () => {
        if (video.seeking || !(video.painted <= to && to < video.painted + %f)) return;
        const canvas = document.createElement("canvas");
        canvas.width = video.videoWidth; canvas.height = video.videoHeight;
        const at = canvas.getContext("2d"); at.drawImage(video, 0, 0);
        go([...at.getImageData(canvas.width / 2, canvas.height / 2, 1, 1).data]); };
    video.currentTime = to; })'''


def colour(i):
    """Of picture i: no two are near each other."""
    return i % 4 * 80 + 8, i // 4 % 4 * 80 + 8, i // 16 % 4 * 80 + 8


@pytest.fixture(scope='module')
def video(browser, root):
    """The path of a video of about 100 MB, nearly all of it holes."""
    frames = []
    for i in range(COUNT):
        url = browser.evaluate(PICTURE % (WIDTH, HEIGHT, *colour(i)))
        assert url.startswith('data:image/webp;base64,')
        frames.append(webm.vp8_of(base64.b64decode(url.partition(',')[2])))
    path = os.path.join(root, 'video.webm')
    webm.write(path, frames, WIDTH, HEIGHT, INTERVAL_MS, PADDING)
    with open(os.path.join(root, 'video.html'), 'w', encoding='ascii') as file:
        file.write(PAGE)
    return path


def requests_of(log):
    """Those for the video that have ended, oldest first."""
    lines = [json.loads(line) for line in log.content().splitlines()]
    return [line for line in lines if 'video.webm' in line['request']]


def ranges_asked(browser):
    """Where each request for the video began."""
    found = []
    for event in browser.seen('Network.requestWillBeSent'):
        if event['request']['url'].endswith('video.webm'):
            text = event['request']['headers'].get('Range', 'none')
            found.append(int(re.fullmatch(r'bytes=(\d+)-\d*', text)[1]))
    return found


def test_seeking_is_by_ranges(browser, launch, video, log):
    server, url = launch('--access-log', log.path, '--log-format', 'json')
    browser.forget('Network.requestWillBeSent', 'Network.responseReceived')
    browser.open(url + 'video.html')
    browser.evaluate(FOLLOW)
    assert browser.evaluate(METADATA) == COUNT * INTERVAL_MS / 1000
    size, interval = os.path.getsize(video), INTERVAL_MS / 1000
    for i in (COUNT - 2, 3, 3, 14, COUNT - 1, 0, 19):
        seen = browser.evaluate(SEEK % ((i + 0.5) * interval, interval))
        assert all(abs(a - b) <= NEAR for a, b in zip(seen, colour(i))), (i, seen)
    begins = ranges_asked(browser)
    assert max(begins) > size * 0.8, 'it never jumped ahead'
    assert begins != sorted(begins), 'nor back'
    answers = [event['response'] for event in browser.seen('Network.responseReceived')
               if event['response']['url'].endswith('video.webm')]
    assert {answer['status'] for answer in answers} == {206}
    for answer in answers:
        fields = {name.lower(): value for name, value in answer['headers'].items()}
        assert re.fullmatch(rf'bytes \d+-\d+/{size}', fields['content-range'])
        assert fields['content-type'] == 'video/webm'
    browser.open('about:blank')                  # what is under way ends
    wait_until(lambda: len(requests_of(log)) >= len(answers), 3, 'a line for each answer')
    # What the browser still had, it may ask for again on the condition that it changed.
    statuses = [line['status'] for line in requests_of(log)]
    assert set(statuses) <= {206, 304} and statuses.count(206) >= 6, statuses
    assert sum(line['bytes'] for line in requests_of(log)) < size / 2, 'it took all of it'
    assert server.running()
