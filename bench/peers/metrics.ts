/** What is measured of each side. Less is better in all of them. */
export const metrics = [
  {
    name: 'start',
    title: 'Start of the server',
    unit: 'ms',
    meaning: 'From the start of the process to its first answer to a request.',
  },
  {
    name: 'first1',
    title: 'First text, turn 1',
    unit: 'ms',
    meaning:
      'From the request for a new session with its prompt to the first text, in the first session after the start of the server. It includes the start of the agent, where the side starts one for a session.',
  },
  {
    name: 'first2',
    title: 'First text, turn 2',
    unit: 'ms',
    meaning: 'From the second prompt of that session to the first text.',
  },
  {
    name: 'firstNext',
    title: 'First text of the next session',
    unit: 'ms',
    meaning: 'As turn 1, for a second session of the same server, a few seconds after the first.',
  },
  {
    name: 'latency50',
    title: 'Latency of a delta, p50',
    unit: 'ms',
    meaning:
      'The age of a delta when the client has it, at a steady {rate} deltas per second. The model writes the time into each delta, so the time that the agent needs is included.',
  },
  {
    name: 'latency99',
    title: 'Latency of a delta, p99',
    unit: 'ms',
    meaning: 'The same; the 99th percentile of {count} deltas.',
  },
  {
    name: 'flood',
    title: 'Flood of {flood} deltas',
    unit: 'ms',
    meaning: 'From the prompt to the last delta, when the model sends {flood} deltas at once.',
  },
  {
    name: 'floodProcessor',
    title: 'Flood, processor time',
    unit: 'ms',
    meaning:
      'The processor time of the client, the server and the agent during the flood, without the model.',
  },
  {
    name: 'floodProcessorOwn',
    title: 'Flood, without the agent',
    unit: 'ms',
    meaning: "The same without the agent's program: what is added to the agent, with the client that reads.",
  },
  {
    name: 'fanOut',
    title: '{readers} readers',
    unit: 'ms',
    meaning:
      'From a prompt to the moment when the last of {readers} readers of one session has all {fanOut} deltas of the answer.',
  },
  {
    name: 'replay',
    title: 'Replay of {turns} turns',
    unit: 'ms',
    meaning:
      'The time in which a new reader gets the complete texts of a session with {turns} turns of {deltas} deltas each.',
  },
  {
    name: 'stored',
    title: 'Stored per turn',
    unit: 'bytes',
    meaning:
      'The growth of the home folder for each turn with {storedDeltas} deltas ({content} of text), after the end of the server.',
  },
  {
    name: 'storedOwn',
    title: 'Stored, without the agent',
    unit: 'bytes',
    meaning: "The same without the agent's own files.",
  },
  {
    name: 'idle',
    title: 'Memory, idle',
    unit: 'bytes',
    meaning: 'The resident memory of all processes of the server, before its first session.',
  },
  {
    name: 'session',
    title: 'Memory, one session',
    unit: 'bytes',
    meaning: 'The same with one session after its second turn, with the agent.',
  },
  {
    name: 'sessionOwn',
    title: 'Memory, without the agent',
    unit: 'bytes',
    meaning: "The same without the agent's program.",
  },
] as const satisfies readonly Metric[]

type Metric = {
  readonly name: string
  readonly title: string
  readonly unit: 'ms' | 'bytes'
  /** Numbers of the run, such as {turns}, are filled in from its sizes. */
  readonly meaning: string
}

export type MetricName = (typeof metrics)[number]['name']

export type Sizes = {
  /** Deltas per second, and the number of deltas, of the measurement of latency. */
  readonly rate: number
  readonly count: number
  readonly flood: number
  readonly readers: number
  readonly fanOut: number
  /** The number of turns, and the deltas of each, of the session that is replayed. */
  readonly turns: number
  readonly deltas: number
  /** The same of the session whose bytes are counted. It is larger, because databases grow in steps. */
  readonly storedTurns: number
  readonly storedDeltas: number
}

export const sizes: Sizes = {
  rate: 200,
  count: 300,
  flood: 10_000,
  readers: 10,
  fanOut: 1_000,
  turns: 20,
  deltas: 500,
  storedTurns: 20,
  storedDeltas: 2_000,
}

export const quickSizes: Sizes = { ...sizes, count: 100, flood: 2_000, fanOut: 200, turns: 4, storedTurns: 4 }
