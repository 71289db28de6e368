import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { NativeHookCall } from './native-hook.ts'

/** Resolves to the reason of a refusal, or undefined to allow the call. */
export type CallCheck = (call: NativeHookCall) => Promise<string | undefined>

/** `sessionId` is Codex's own: the id of the root conversation, to which all its subagents belong. */
export type CheckedThread = {
  readonly threadId: string
  readonly sessionId: string
  readonly judge: CallCheck
}

const hookFile = `./hook-program.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`
/** Codex lets a call run if its hook times out, so the hook gives up and refuses earlier. */
const hookTimeoutS = 60
const hookPatienceMs = 45_000
const nobody = 'No session of Parley knows this conversation.'

/**
 * The server that Codex's hook asks about each call before it runs. Codex approves some calls by itself: those that
 * the rules of the person or of a trusted folder allow, and tools that only read. The host's refusals apply to those
 * too.
 */
export class HookServer {
  readonly #folder: string
  readonly #server: Server
  readonly #seats = new Set<CheckedThread>()
  readonly #asking = new Set<Socket>()

  private constructor(folder: string) {
    this.#folder = folder
    this.#server = createServer({ allowHalfOpen: true }, (socket) => void this.#answer(socket))
    this.#server.unref()
  }

  static async open(): Promise<HookServer> {
    const desk = new HookServer(await mkdtemp(join(tmpdir(), 'parley-hook-')))
    await new Promise<void>((resolve, reject) => {
      desk.#server.once('error', reject)
      desk.#server.listen(desk.#socket, resolve)
    })
    return desk
  }

  get #socket(): string {
    return process.platform === 'win32'
      ? `\\\\.\\pipe\\${this.#folder.split('\\').at(-1)}`
      : join(this.#folder, 'hook')
  }

  /** The command that Codex runs before each call. */
  get command(): string {
    const program = fileURLToPath(new URL(hookFile, import.meta.url))
    return hookCommand([process.execPath, program, this.#socket, String(hookPatienceMs)])
  }

  /** The hook in the form of Codex's settings. */
  get hooks(): readonly object[] {
    return [{ matcher: '', hooks: [{ type: 'command', command: this.command, timeout: hookTimeoutS }] }]
  }

  /** A folder without any settings of a person. */
  get folder(): string {
    return this.#folder
  }

  join(seat: CheckedThread): void {
    this.#seats.add(seat)
  }

  /** Removes a judge: from now on all calls of its conversations are refused. */
  leave(judge: CallCheck): void {
    for (const seat of this.#seats) if (seat.judge === judge) this.#seats.delete(seat)
  }

  /** Closes the server. Hooks that still wait get no answer, and refuse. */
  async close(): Promise<void> {
    this.#server.close()
    for (const socket of this.#asking) socket.destroy()
    await rm(this.#folder, { recursive: true, force: true })
  }

  async #answer(socket: Socket): Promise<void> {
    this.#asking.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => this.#asking.delete(socket))
    try {
      const call = JSON.parse(await text(socket)) as NativeHookCall
      const deny = await this.#refusal(call)
      socket.end(JSON.stringify(deny === undefined ? {} : { deny }))
    } catch {
      socket.end(JSON.stringify({ deny: 'Parley does not understand this call.' }))
    }
  }

  async #refusal(call: NativeHookCall): Promise<string | undefined> {
    const judges = this.#judgesOf(call)
    if (judges.size === 0) return nobody
    for (const judge of judges) {
      const deny = await judge(call)
      if (deny !== undefined) return deny
    }
    return undefined
  }

  /** The judge of this very conversation; for an unknown one, all judges with the same root conversation. */
  #judgesOf({ session_id: sessionId, agent_id: agentId }: NativeHookCall): ReadonlySet<CallCheck> {
    const seats = [...this.#seats]
    const own = seats.filter(({ threadId }) => threadId === (agentId ?? sessionId))
    const family = seats.filter((seat) => seat.sessionId === sessionId)
    return new Set((own.length > 0 ? own : family).map(({ judge }) => judge))
  }
}

/**
 * A command line for the shell in which Codex runs hooks. A hook that cannot start or crashes would let the call run,
 * since only exit status 2 refuses it. Electron runs as Node only with a variable.
 */
export function hookCommand(
  words: readonly string[],
  { platform, electron }: { platform: NodeJS.Platform; electron: string | undefined } = {
    platform: process.platform,
    electron: process.versions.electron,
  },
): string {
  const isWindows = platform === 'win32'
  const quoted = (word: string) => (isWindows ? `"${word}"` : `'${word.replaceAll("'", `'\\''`)}'`)
  const asNode = isWindows ? 'set "ELECTRON_RUN_AS_NODE=1" && ' : 'env ELECTRON_RUN_AS_NODE=1 '
  return `${electron === undefined ? '' : asNode}${words.map(quoted).join(' ')} || exit 2`
}
