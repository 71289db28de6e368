/** The languages that are highlighted. Each grammar is fetched on first use. */
const languages = {
  bash: () => import('shiki/langs/bash.mjs'),
  c: () => import('shiki/langs/c.mjs'),
  cpp: () => import('shiki/langs/cpp.mjs'),
  csharp: () => import('shiki/langs/csharp.mjs'),
  css: () => import('shiki/langs/css.mjs'),
  diff: () => import('shiki/langs/diff.mjs'),
  dockerfile: () => import('shiki/langs/dockerfile.mjs'),
  go: () => import('shiki/langs/go.mjs'),
  html: () => import('shiki/langs/html.mjs'),
  java: () => import('shiki/langs/java.mjs'),
  javascript: () => import('shiki/langs/javascript.mjs'),
  json: () => import('shiki/langs/json.mjs'),
  kotlin: () => import('shiki/langs/kotlin.mjs'),
  php: () => import('shiki/langs/php.mjs'),
  python: () => import('shiki/langs/python.mjs'),
  ruby: () => import('shiki/langs/ruby.mjs'),
  rust: () => import('shiki/langs/rust.mjs'),
  sql: () => import('shiki/langs/sql.mjs'),
  swift: () => import('shiki/langs/swift.mjs'),
  toml: () => import('shiki/langs/toml.mjs'),
  tsx: () => import('shiki/langs/tsx.mjs'),
  typescript: () => import('shiki/langs/typescript.mjs'),
  yaml: () => import('shiki/langs/yaml.mjs'),
}

const other: Record<string, keyof typeof languages> = {
  'c++': 'cpp',
  'c#': 'csharp',
  cs: 'csharp',
  docker: 'dockerfile',
  js: 'javascript',
  jsx: 'tsx',
  jsonc: 'json',
  kt: 'kotlin',
  mjs: 'javascript',
  py: 'python',
  rb: 'ruby',
  rs: 'rust',
  sh: 'bash',
  shell: 'bash',
  ts: 'typescript',
  yml: 'yaml',
  zsh: 'bash',
}

export type Language = keyof typeof languages

export function languageNamed(name: string): Language | undefined {
  if (Object.hasOwn(languages, name)) return name as Language
  return Object.hasOwn(other, name) ? other[name] : undefined
}

export const loadLanguage = (language: Language) => languages[language]()

const byEnding = new Map([
  ['cc', 'cpp'],
  ['cjs', 'javascript'],
  ['cts', 'typescript'],
  ['h', 'c'],
  ['hpp', 'cpp'],
  ['htm', 'html'],
  ['mts', 'typescript'],
])

/** The language of a file, by its name. */
export function languageOfFile(path: string): Language | undefined {
  const name = path.slice(path.lastIndexOf('/') + 1).toLowerCase()
  const ending = name.slice(name.lastIndexOf('.') + 1)
  return languageNamed(byEnding.get(ending) ?? ending)
}
