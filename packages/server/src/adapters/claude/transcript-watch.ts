import { existsSync } from 'node:fs'
import { open, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { entryOf, idOfPrompt, isAskedAgain, promptOf } from './memory.ts'
import { projectsFolder } from './transcript.ts'

/**
 * Detects whether another program writes in a conversation that our process holds: the shared transcript then has a
 * prompt that was not sent to our process. Reads only what is new. Our process does not know such prompts.
 */
export class TranscriptWatch {
  readonly #env: Readonly<Record<string, string>>
  readonly #own = new Set<string>()
  #file: string | undefined
  #sessionId: string | undefined
  /** How many bytes of the file were read. */
  #read = 0
  #strange = false
  /** Whether a prompt of ours was seen in the file, or the conversation was resumed. */
  #isBegun = true

  /** The process knows what the transcript of the resumed conversation contains before its start. */
  constructor(
    env: Readonly<Record<string, string>>,
    before: string | undefined,
    resumed: string | undefined,
  ) {
    this.#env = env
    this.#read = Buffer.byteLength(before ?? '')
    this.#sessionId = resumed
  }

  /** Registers a prompt that is sent to our process. */
  gives(uuid: string): void {
    this.#own.add(uuid)
  }

  async hasStrangers(sessionId: string | undefined): Promise<boolean> {
    if (sessionId === undefined || this.#strange) return this.#strange
    if (sessionId !== this.#sessionId) {
      this.#sessionId = sessionId
      this.#file = undefined
      this.#read = 0
      this.#isBegun = false
    }
    const entries = (await this.#newLines(sessionId)).flatMap(entryOf)
    // A forked conversation begins with the content of the original.
    const first = this.#isBegun ? 0 : entries.findIndex(({ uuid }) => this.#own.has(uuid ?? ''))
    if (first < 0) return false
    this.#isBegun = true
    this.#strange = entries.slice(first).some((entry) => {
      const parts = promptOf(entry)
      return parts !== undefined && !isAskedAgain(parts) && !this.#own.has(idOfPrompt(entry).id ?? '')
    })
    return this.#strange
  }

  async #newLines(sessionId: string): Promise<string[]> {
    this.#file ??= await transcriptFile(this.#env, sessionId)
    if (this.#file === undefined) return []
    const { size } = await stat(this.#file)
    if (size <= this.#read) return []
    await using handle = await open(this.#file)
    const { buffer } = await handle.read({ buffer: Buffer.alloc(size - this.#read), position: this.#read })
    const end = buffer.lastIndexOf(0x0a) + 1
    this.#read += end
    return buffer.toString('utf8', 0, end).split('\n')
  }
}

async function transcriptFile(
  env: Readonly<Record<string, string>>,
  sessionId: string,
): Promise<string | undefined> {
  const projects = projectsFolder(env)
  const folders = await readdir(projects).catch(() => [])
  return folders
    .map((folder) => join(projects, folder, `${sessionId}.jsonl`))
    .find((file) => existsSync(file))
}
