import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync, unwatchFile, watchFile } from 'node:fs'
import type { SecureContextOptions, Server } from 'node:tls'
import { ParleyError } from '@parley/protocol'
import type { Logger } from 'pino'

/** The files of a certificate, with its chain, and of its private key, both as PEM. */
export type CertificateFiles = { readonly certFile: string; readonly keyFile: string }

export type Certificate = Required<Pick<SecureContextOptions, 'cert' | 'key'>> & {
  readonly names: readonly string[]
  readonly validTo: Date
}

/** Reads a certificate and its key. Throws ParleyError `validation_error` that names the file and what to do. */
export function readCertificate({ certFile, keyFile }: CertificateFiles, now = Date.now()): Certificate {
  const cert = readText(certFile, '--tls-cert')
  const key = readText(keyFile, '--tls-key')
  const first = parsed(() => new X509Certificate(cert))
  if (!first) throw refusal(`${certFile} (--tls-cert) contains no certificate in PEM format.`)
  const privateKey = parsed(() => createPrivateKey(key))
  if (!privateKey) {
    const why = key.includes('ENCRYPTED')
      ? 'is encrypted. Remove the passphrase: openssl pkey -in <file> -out <other file>'
      : 'contains no private key in PEM format.'
    throw refusal(`${keyFile} (--tls-key) ${why}`)
  }
  if (!first.checkPrivateKey(privateKey)) {
    throw refusal(
      `The key in ${keyFile} (--tls-key) does not belong to the first certificate in ${certFile} (--tls-cert). The certificate of the server must come first, before those that signed it.`,
    )
  }
  const { validFromDate, validToDate, subjectAltName = '' } = first
  if (validToDate.getTime() <= now)
    throw refusal(`The certificate in ${certFile} expired at ${validToDate.toISOString()}. Renew it.`)
  if (validFromDate.getTime() > now) {
    throw refusal(
      `The certificate in ${certFile} is valid only from ${validFromDate.toISOString()}. Check the clock of this machine.`,
    )
  }
  const names = [...subjectAltName.matchAll(/(?:DNS|IP Address):([^,\s]+)/g)].map(([, name = '']) => name)
  return { cert, key, names, validTo: validToDate }
}

const checkEveryMs = 2_000

/**
 * Loads the certificate again whenever one of its files changes. If the new files cannot be used, the server keeps its
 * certificate. Returns a function that stops this.
 */
export function followCertificate(server: Server, files: CertificateFiles, logger: Logger): () => void {
  const reload = () => {
    try {
      const { cert, key, validTo } = readCertificate(files)
      server.setSecureContext({ cert, key })
      logger.info({ validTo: validTo.toISOString() }, 'uses a new certificate')
    } catch (error) {
      // While the files are being replaced one after the other, the key may not match the certificate.
      logger.warn({ err: error }, 'keeps its certificate: the new files cannot be used')
    }
  }
  const names = [files.certFile, files.keyFile]
  for (const name of names) watchFile(name, { interval: checkEveryMs, persistent: false }, reload)
  return () => {
    for (const name of names) unwatchFile(name, reload)
  }
}

function readText(file: string, option: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException
    throw refusal(`The file of ${option}, ${file}, cannot be read (${code}).`, thrown)
  }
}

function parsed<Value>(parse: () => Value): Value | undefined {
  try {
    return parse()
  } catch {
    return undefined
  }
}

function refusal(message: string, cause?: unknown): ParleyError {
  return new ParleyError('validation_error', message, { cause })
}
