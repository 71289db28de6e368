import { type ProgramOptions, type RunningProgram, startProgram } from './start-program.ts'

/** How long the program may take to say who is signed in. */
const tellMs = 5_000

/**
 * Starts the program. Codex itself takes no key from the environment: if nobody is signed in and `OPENAI_API_KEY` is there, it
 * is started again and given the key, which it then keeps in memory and never writes down. A person who is signed in stays so.
 */
export async function startSignedIn(options: ProgramOptions): Promise<RunningProgram> {
  const program = await startProgram(options)
  const { OPENAI_API_KEY: apiKey } = options.env
  if (!apiKey || (await isSignedIn(program))) return program
  program.process.kill()
  await program.ended
  const args = [...options.args, '-c', 'cli_auth_credentials_store="ephemeral"']
  const again = await startProgram({ ...options, args })
  // a key that is not taken leaves nobody signed in, which is said where a session is begun
  await answered(again.rpc.call('account/login/start', { type: 'apiKey', apiKey }))
  return again
}

/** A program that does not say counts as signed in: what is wrong with it shows later. */
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
