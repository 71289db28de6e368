import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '../..')

export type Sample = { readonly file: string; readonly program: string }

/** Every program in the READMEs and docs/ as a module, named after its page and line. */
export function documentationSamples(): Sample[] {
  const docs = readdirSync(join(root, 'docs')).map((name) => `docs/${name}`)
  const packages = readdirSync(join(root, 'packages')).map((name) => `packages/${name}/README.md`)
  const pages = ['README.md', ...docs, ...packages]
  return pages
    .filter((page) => page.endsWith('.md'))
    .flatMap((page) => samplesIn(page, readFileSync(join(root, page), 'utf8')))
}

function samplesIn(page: string, text: string): Sample[] {
  return [...text.matchAll(/^```(tsx?|jsx?|typescript|javascript)\n(.*?)^```/gms)].map((found) => {
    const [, language = '', program = ''] = found
    const line = text.slice(0, found.index).split('\n').length
    const file = `${page.replaceAll('/', '.')}.${line}.${language.endsWith('x') ? 'tsx' : 'ts'}`
    return { file, program: `${program}\nexport {}\n` }
  })
}

/** The example programs, which samples may import. */
export function exampleFiles(): Sample[] {
  return readdirSync(join(root, 'examples'))
    .filter((name) => name.endsWith('.ts'))
    .map((file) => ({ file, program: readFileSync(join(root, 'examples', file), 'utf8') }))
}
