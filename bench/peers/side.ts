import type { MetricName } from './metrics.ts'

/**
 * One side of the comparison: Parley, or a peer that runs the same agent. A side is driven as its users drive it, over
 * its own interface. Each side runs in a process of its own (`side-process.ts`).
 */
export type Side = {
  /** Starts the side. Resolves when it can take a session. */
  start(place: Place): Promise<RunningSide>
}

export type RunningSide = {
  /** The time from the start of the server to its first answer; absent if there is no server. */
  readonly startMs?: number
  /** Creates a session with its first prompt. Resolves when the turn has ended. */
  newSession(prompt: string, hear: Hear): Promise<SideSession>
  /** Ends everything that `start` and `newSession` started. */
  stop(): Promise<void>
}

export type SideSession = {
  /** Resolves when the turn has ended. */
  prompt(text: string, hear: Hear): Promise<void>
  /** Adds a live reader of the session. Absent if a session has one reader. */
  join?(hear: Hear): Promise<Reader>
  /**
   * Lets a new reader get all texts of the agent so far. They may still arrive after the promise resolves. Absent if the
   * side keeps no texts.
   */
  read?(hear: Hear): Promise<unknown>
}

export type Reader = { close(): void }

/** Called with each piece of the agent's text as it arrives. */
export type Hear = (text: string) => void

/** What a side finds when it starts. `home` and `temporary` belong to this side alone and are kept between its starts. */
export type Place = {
  readonly home: string
  /** For temporary files and caches, which do not count as stored. */
  readonly temporary: string
  readonly work: string
  /** The environment of the agent: placeholder keys, this home, the model on loopback. */
  readonly env: Readonly<Record<string, string>>
  readonly modelUrl: string
  readonly programs: Programs
}

export type Programs = {
  readonly claude: string
  /** The folder of each package set of `packages.ts`, by its name. */
  readonly packages: Readonly<Record<string, string>>
}

export type AgentName = 'claude' | 'opencode' | 'qwen'

/** The description of a side, for the run and for the page. */
export type SideInfo = {
  readonly name: SideName
  readonly title: string
  readonly agent: AgentName
  /** True for Parley, with which the other sides of the same agent are compared. */
  readonly isOurs?: true
  /** True if the side is a library in the process of its user, so that its memory is the growth of that process. */
  readonly isLibrary?: true
  /** The name of its package set, if it is not part of this repository. */
  readonly packages?: string
  /** A sentence about how it was run. */
  readonly how: string
  /** The metrics that the side cannot have, with the reason as a sentence. */
  readonly cannot: Partial<Record<MetricName, string>>
}

export type SideName =
  | 'parley'
  | 'sdk'
  | 'claude-agent-acp'
  | 'sandbox-agent'
  | 'ai-sdk'
  | 'parley-opencode'
  | 'opencode'
  | 'parley-qwen'
  | 'qwen'
