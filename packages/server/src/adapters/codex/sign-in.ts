import { type ProgramOptions, type RunningProgram, startProgram } from './start-program.ts'

/** How long the program may take to report the sign-in state. */
const tellMs = 5_000

/**
 * Starts the program. Codex itself reads no key from the environment: if nobody is signed in and `OPENAI_API_KEY` is
 * set, it is restarted and given the key, which it keeps in memory and never stores. An existing sign-in is kept.
 */
export async function startSignedIn(options: ProgramOptions): Promise<RunningProgram> {
  const program = await startProgram(options)
  const { OPENAI_API_KEY: apiKey } = options.env
  if (!apiKey || (await isSignedIn(program))) return program
  program.process.kill()
  await program.ended
  const args = [...options.args, '-c', 'cli_auth_credentials_store="ephemeral"']
  const again = await startProgram({ ...options, args })
  // If the key is not accepted, nobody is signed in, which is reported when a session starts.
  await answered(again.rpc.call('account/login/start', { type: 'apiKey', apiKey }))
  return again
}

/** A program that does not respond counts as signed in: its fault shows later. */
async function isSignedIn({ rpc }: RunningProgram): Promise<boolean> {
  type Account = { readonly account?: unknown; readonly requiresOpenaiAuth?: boolean }
  const told = (await answered(rpc.call('account/read', {}))) as Account | undefined
  return told?.requiresOpenaiAuth !== true || (told.account ?? null) !== null
}

function answered(call: Promise<unknown>): Promise<unknown> {
  const late = Promise.withResolvers<undefined>()
  const timer = setTimeout(() => late.resolve(undefined), tellMs)
  const answer = call.catch(() => undefined)
  return Promise.race([answer, late.promise]).finally(() => clearTimeout(timer))
}
