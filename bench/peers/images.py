#!/usr/bin/env python3
"""JPEG files to what a step trains on, as torchvision does it on one thread: of
every file of a folder decode_jpeg, for large ones Resize, then RandomCrop,
RandomHorizontalFlip, to float, Normalize. The last line printed is a JSON
object: images a second of processor time.

    python3 images.py FOLDER RESIZE CROP SECONDS      RESIZE 0: as it is

Its environment is made by  bench/peers/setup.sh DIR  (about 6 GB). The files are
in memory before the clock runs.
"""
import json
import os
import sys
import time

import torch
from torchvision.io import ImageReadMode, decode_jpeg
from torchvision.transforms import v2


def main():
    folder, resize, crop, seconds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
    torch.set_num_threads(1)
    files = []
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as f:
            files.append(torch.frombuffer(bytearray(f.read()), dtype=torch.uint8))
    steps = v2.Compose(
        ([v2.Resize(resize, antialias=True)] if resize else [])
        + [
            v2.RandomCrop(crop),
            v2.RandomHorizontalFlip(),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
        ]
    )
    for file in files:
        steps(decode_jpeg(file, mode=ImageReadMode.RGB))
    images, decoding = 0, 0.0
    begin = time.process_time()
    while time.process_time() - begin < seconds:
        for file in files:
            before = time.process_time()
            image = decode_jpeg(file, mode=ImageReadMode.RGB)
            decoding += time.process_time() - before
            steps(image)
            images += 1
    took = time.process_time() - begin
    print(
        json.dumps(
            {
                "images_per_s": images / took,
                "decoded_per_s": images / decoding,
                "augmented_per_s": images / (took - decoding),
                "images": images,
            }
        )
    )


if __name__ == "__main__":
    main()
