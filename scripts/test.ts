import { spawn } from 'node:child_process'
import { once } from 'node:events'

/**
 * `npm test`: checks the types beside the tests. The type check runs on one thread, because several threads
 * check the same types more than once, and the tests use the other processors. If the type check fails, the
 * tests continue, but the command fails.
 */
const types = ['tsc -b --singleThreaded', 'tsc -p tests --singleThreaded'].join(' && ')
const tests = 'vitest run --project architecture --project unit --project git --project main'

if (await passes('biome check .')) {
  const [typesPass, testsPass] = await Promise.all([passes(types), passes(tests)])
  if (!typesPass) console.error('The type check failed; its output is above.')
  process.exitCode = typesPass && testsPass ? 0 : 1
} else process.exitCode = 1

/** Runs a command line. npm has put the programs of the project on the PATH. */
async function passes(line: string): Promise<boolean> {
  const [code] = await once(spawn(line, { shell: true, stdio: 'inherit' }), 'exit')
  return code === 0
}
