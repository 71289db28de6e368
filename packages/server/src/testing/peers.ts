import { ParleyError } from '@parley/protocol'

/**
 * Optional peer dependencies. `@parley/server/testing` can be imported without them; a function that needs a missing
 * package throws an error that names the package.
 */
const vitest = await installed(() => import('vitest'))
const fastCheck = await installed(() => import('fast-check'))

type Vitest = typeof import('vitest')
type FastCheck = typeof import('fast-check')['default']

export const describe: Vitest['describe'] = vitest?.describe ?? refusal('vitest')
export const it: Vitest['it'] = vitest?.it ?? refusal('vitest')
export const expect: Vitest['expect'] = vitest?.expect ?? refusal('vitest')
export const beforeAll: Vitest['beforeAll'] = vitest?.beforeAll ?? refusal('vitest')
export const afterAll: Vitest['afterAll'] = vitest?.afterAll ?? refusal('vitest')
export const beforeEach: Vitest['beforeEach'] = vitest?.beforeEach ?? refusal('vitest')
export const afterEach: Vitest['afterEach'] = vitest?.afterEach ?? refusal('vitest')
export const onTestFinished: Vitest['onTestFinished'] = vitest?.onTestFinished ?? refusal('vitest')
export const fc: FastCheck = fastCheck?.default ?? refusal('fast-check')

/** The package, or undefined if it is not installed. */
export async function installed<Package>(load: () => Promise<Package>): Promise<Package | undefined> {
  try {
    return await load()
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND') return undefined
    throw thrown
  }
}

export function missing(name: string): ParleyError {
  const message = `This part of @parley/server/testing needs ${name}: npm install --save-dev ${name}`
  return new ParleyError('not_supported', message, { details: { package: name } })
}

function refusal(name: string): never {
  const refuse = () => {
    throw missing(name)
  }
  return new Proxy(refuse, { get: refuse }) as never
}
