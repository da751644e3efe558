#!/usr/bin/env python3
"""A convolutional network learns to read digits: examples/mnist.c in Python.

    python3 examples/mnist.py [--steps 70] [--batch 512] [--seed 1] [--lr 0.002] [--no-jit] [--data data/mnist]
"""
import argparse
import os
import time

import ridge
from ridge import nn


def network():
    return nn.Sequential(
        nn.Conv2d(1, 32, 5), nn.ReLU(), nn.Conv2d(32, 32, 5), nn.ReLU(), nn.BatchNorm2d(32), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3), nn.ReLU(), nn.Conv2d(64, 64, 3), nn.ReLU(), nn.BatchNorm2d(64), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(576, 10))


def load(folder, name):
    images = ridge.load_idx(os.path.join(folder, name + "-images-idx3-ubyte.gz"))
    labels = ridge.load_idx(os.path.join(folder, name + "-labels-idx1-ubyte.gz"))
    return images.unsqueeze(1).clone().realize(), labels.long().clone().realize()


def accuracy(logits, labels):
    return (logits.argmax(1) == labels).float().mean()


def train(net, images, labels, args):
    optim = ridge.optim.Adam(net.parameters(), lr=args.lr)

    def step():
        pick = ridge.randint(0, images.shape[0], (args.batch,))
        target = labels.take(pick, 0)
        logits = net(images.take(pick, 0).float() / 255)
        loss = ridge.cross_entropy(logits, target)
        right = accuracy(logits, target)
        loss.backward()
        optim.step()
        return loss, right

    run = step if args.no_jit else ridge.jit(step)
    times = []
    began = time.perf_counter()
    for i in range(1, args.steps + 1):
        t0 = time.perf_counter()
        optim.lr = ridge.optim.lr_cosine(args.lr, i - 1, args.steps, args.lr / 20)
        loss, right = run()
        loss, right = loss.item(), right.item()
        times.append(time.perf_counter() - t0)
        print("step %3d  loss %6.4f  accuracy %5.1f %%  %5.2f steps/s" % (i, loss, 100 * right, 1 / times[-1]))
    print("trained in %.1f s; a step takes %.1f ms" % (time.perf_counter() - began, 1e3 * sorted(times)[len(times) // 2]))


def test(net, images, labels, part=500):
    net.eval()
    at = ridge.index_scalar(0, images.shape[0] - part)

    @ridge.jit
    @ridge.no_grad()
    def judge():
        return accuracy(net(images.window(at, part).float() / 255), labels.window(at, part))

    right = 0.0
    for i in range(0, images.shape[0], part):
        at.set(i)
        right += judge().item() * part
    return right / images.shape[0]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=70)
    p.add_argument("--batch", type=int, default=512)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--lr", type=float, default=0.002)
    p.add_argument("--no-jit", action="store_true")
    p.add_argument("--data", default="data/mnist")
    args = p.parse_args()
    ridge.manual_seed(args.seed)
    images, labels = load(args.data, "train")
    net = network()
    print("%d images, %d parameters" % (images.shape[0], sum(w.size for w in net.parameters())))
    train(net, images, labels, args)
    print("test accuracy %.2f %%" % (100 * test(net, *load(args.data, "t10k"))))


if __name__ == "__main__":
    main()
