"""What a case is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional

from .._call import Place

SCORED, APART, LAYER = "scored", "apart", "layer"
"""which table a case's step time belongs to: a group of the score, one outside the mean of groups, a layer's"""

PHASES = {"1F": "t_1F_s", "bubble": "t_bubble_s", "1B": "t_1B_s", "1W": "t_1W_s", "1F1B": "t_1F1B_s", "optimizer": "t_opt_s"}
"""what a pipeline rank's time in a step goes to, and the figure that holds it.  Source: README of the measurements"""


@dataclass
class Measured:
    """What was measured; None: not published."""

    step_s: Optional[float] = None
    """the step time to predict [s]"""
    low_s: Optional[float] = None
    """with high_s: a step time is right anywhere between them [s]"""
    high_s: Optional[float] = None
    peak_B: Optional[float] = None
    """memory at its peak [bytes]"""
    static_B: Optional[float] = None
    """memory between steps [bytes]"""
    forward_s: Optional[float] = None
    """of a layer [s], as the next two"""
    backward_s: Optional[float] = None
    layer_s: Optional[float] = None
    """forward and backward pass together"""
    phase_s: Dict[str, float] = field(default_factory=dict)
    """by a name of PHASES [s]"""
    is_last_rank: bool = False
    """memory is that of the last rank, not of the fullest one"""
    is_allocated: bool = False
    """memory counts tensors, not what the allocator reserved"""
    is_device: bool = False
    """memory counts all of the device, with context and communication library"""
    figures: Dict[str, str] = field(default_factory=dict)
    """every figure of the source as it stands, by its name with the unit"""


@dataclass
class Case:
    """A measured run."""

    id: str
    group: str
    place: Place
    """where it stands, for messages"""
    measured: Measured
    use: str = SCORED
    is_core: bool = False
    """of the recommended first set"""
    is_suspect: bool = False
    """its source's data contradict each other; it counts all the same"""
    recompute_is_stated: bool = True
    """the source says what is recomputed"""
    source: Optional[str] = None
    notes: Optional[str] = None
    url: Optional[str] = None
    workload: Optional[Dict[str, Any]] = None
    """the job, a document with the keys of workloads/README.md, of texts, numbers, lists and mappings; None: see path, or reason"""
    path: Optional[str] = None
    """of an own run: its workload's file"""
    platform: Optional[str] = None
    """of an own run: in place of its workload's platform"""
    sets: List[str] = field(default_factory=list)
    """of an own run: overrides of its workload, KEY=VALUE"""
    framework: Optional[str] = None
    """profile of the software; None: that of an own run's workload"""
    assumptions: List[str] = field(default_factory=list)
    """what the rules took for granted, and the words that they read"""
    differs: List[str] = field(default_factory=list)
    """what is simulated otherwise than it was"""
    reason: Optional[str] = None
    """why there is no job"""
    fields: Optional[Dict[str, Any]] = None
    """of a row in the fields format: its fields, until `translate` has made its workload"""
