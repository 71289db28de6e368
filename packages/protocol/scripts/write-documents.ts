import { readFileSync, writeFileSync } from 'node:fs'
import { openapiDocument, schemaDocument } from '../src/openapi.ts'

/**
 * Part of the build: writes the wire formats as JSON Schema and the routes as OpenAPI, for programs in other
 * languages.
 */
const folder = new URL('../', import.meta.url)
const { version } = JSON.parse(readFileSync(new URL('package.json', folder), 'utf8')) as { version: string }

const documents = { 'dist/schema.json': schemaDocument(), 'dist/openapi.json': openapiDocument(version) }
for (const [name, document] of Object.entries(documents)) {
  writeFileSync(new URL(name, folder), `${JSON.stringify(document)}\n`)
}
