"""Runs NVIDIA's tritonserver over the model repository: find it, start it, watch it, drain it.

supervisor.serve is the door. It reads as: check, prepare, start, wait until ready, wait for a signal, drain, stop.
"""
